"""TensorBoard event files of every wfbench run."""

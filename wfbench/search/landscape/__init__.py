"""Landscapes: the outcome of training every order, and what searchers make of it."""

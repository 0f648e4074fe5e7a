"""The model zoo: real trained models with labelled inputs, and well-known shapes with random weights for speed."""

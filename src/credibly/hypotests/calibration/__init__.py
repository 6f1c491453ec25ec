"""Is a single predictor calibrated? Tests of classes and real values, bands of reliability."""

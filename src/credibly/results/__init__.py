"""What tests and measures return; plots and reports read these, so nothing here computes."""

"""What only this repository needs: publishing its results. Not part of the wheel."""

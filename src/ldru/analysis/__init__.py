"""What a trained model learned, held against exact machines."""

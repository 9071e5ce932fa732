"""RS-TriPhoton: events with three photons, skimmed with all columns and merged."""

"""What people ask for: assess, compare, attack, calibrate, release, verify and advise."""

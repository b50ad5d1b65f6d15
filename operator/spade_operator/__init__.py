"""The kopf operator: watches three kinds, decides purely, acts by server-side apply."""

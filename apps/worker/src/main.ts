/** The entry point that units of older releases name; it takes more memory than main.mjs. */
await import('./main.mjs');

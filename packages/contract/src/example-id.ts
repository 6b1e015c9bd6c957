/** Used for any id in examples. */
export const EXAMPLE_ID = '5b0f6c1e-8a2d-4c3b-9e7f-1a2b3c4d5e6f';

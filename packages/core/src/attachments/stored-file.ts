/** A file whose bytes are in storage under a key that is still an orphan. */
export interface StoredFile {
  readonly filename: string;
  readonly content_type: string;
  readonly size_bytes: number;
  /** Hex. */
  readonly sha256: string;
  readonly storage_key: string;
}

/** A file that could not be stored. */
export interface FailedFile {
  readonly filename: string;
  readonly error: string;
}

/** A file whose bytes lie in the storage, under a key that is still an orphan's. */
export interface StoredFile {
  readonly filename: string;
  readonly content_type: string;
  readonly size_bytes: number;
  /** Hex. */
  readonly sha256: string;
  readonly storage_key: string;
}

/** A file that the storage did not take. */
export interface FailedFile {
  readonly filename: string;
  readonly error: string;
}

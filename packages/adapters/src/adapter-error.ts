import { cutText, storableText } from '@acp/kernel';

/**
 * Classifies failures of a model call by their consequences: `quota` pauses the provider until `reset_at`, if known,
 * `transient` may be retried, and everything else ends the run.
 */
export type AdapterErrorCategory =
  | 'auth'
  | 'quota'
  | 'transient'
  | 'permanent'
  | 'config'
  | 'timeout'
  | 'cancelled';

interface AdapterErrorDetails {
  /** When the quota is renewed. */
  reset_at?: Date;
  /** The wait requested by the provider. */
  retry_after_sec?: number;
  /** The HTTP status, if there was one. */
  status?: number;
}

/** In bytes. */
const LONGEST_MESSAGE = 8000;

/** Has no cause: the model library's errors contain whole prompts and answers. Messages never contain secrets. */
export class AdapterError extends Error {
  readonly category: AdapterErrorCategory;
  readonly reset_at?: Date;
  readonly retry_after_sec?: number;
  readonly status?: number;

  constructor(category: AdapterErrorCategory, message: string, details: AdapterErrorDetails = {}) {
    super(cutText(storableText(message), LONGEST_MESSAGE));
    this.name = 'AdapterError';
    this.category = category;
    // A bogus wait may result in an invalid date.
    if (!Number.isNaN(details.reset_at?.getTime())) this.reset_at = details.reset_at;
    this.retry_after_sec = details.retry_after_sec;
    this.status = details.status;
  }
}

import { answeredJson } from '@acp/kernel';

/** Reads the JSON object in a model's answer. Undefined if there is none, or if `read` rejects it. */
export function readJsonAnswer<T>(answer: string | null, read: (value: unknown) => T): T | undefined {
  try {
    return read(answeredJson(answer ?? ''));
  } catch {
    return undefined;
  }
}

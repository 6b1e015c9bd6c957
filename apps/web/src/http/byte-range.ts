/** A request's byte range (RFC 9110, 14), as sent to resume a download. */
import type { ByteRange } from '@acp/storage';

/**
 * Undefined if the header must be ignored: another unit, several ranges, a last byte before the first, or bad syntax.
 * A suffix longer than the file means the whole file.
 * @param size size of the file in bytes
 */
export function byteRange(header: string | undefined, size: number): ByteRange | 'unsatisfiable' | undefined {
  const match = /^bytes=[ \t]*(\d*)-(\d*)[ \t]*$/i.exec(header ?? '');
  if (match === null) return undefined;
  const [first = '', last = ''] = match.slice(1);
  if (first === '') return last === '' ? undefined : suffix(Number(last), size);
  const start = Number(first);
  const end = last === '' ? size - 1 : Math.min(Number(last), size - 1);
  if (last !== '' && Number(last) < start) return undefined;
  return start >= size ? 'unsatisfiable' : { start, end };
}

function suffix(length: number, size: number): ByteRange | 'unsatisfiable' {
  if (length === 0 || size === 0) return 'unsatisfiable';
  return { start: Math.max(0, size - length), end: size - 1 };
}

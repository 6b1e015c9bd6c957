/** One byte range of a request (RFC 9110, 14): what a download that goes on asks for. */
import type { ByteRange } from '@acp/storage';

/**
 * Undefined where the header is to be ignored: another unit, several ranges, a last byte ahead of the first, no syntax
 * at all. A suffix longer than the file is the whole file.
 * @param size of the file in bytes
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

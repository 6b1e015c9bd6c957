/** Valid paths of agents' files (decisions 7.5). Pure. */
import { invalid } from '@acp/kernel';

const MAX_PATH_BYTES = 500;
const MAX_SEGMENT_BYTES = 200;
const MAX_DEPTH = 10;

/** Windows device names, whatever follows the dot: files travel to workers and into archives. */
const device = /^(?:con|prn|aux|nul|com\d|lpt\d)(?:\..*)?$/i;

/**
 * Accepts a relative path of ordinary names, unchanged. Rejects anything that some file system, program or decoder might
 * interpret as another location: separators and dots in any spelling, hidden names, drives, devices.
 * @throws invalid
 */
export function checkFilePath(path: string): string {
  if (path === '' || Buffer.byteLength(path) > MAX_PATH_BYTES || !path.isWellFormed()) throw refused();
  // Compatibility forms become plain ones: `．．`, `․․`, `／`, `＼`.
  const plain = path.normalize('NFKC');
  if (/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\\:%*?"<>|]/u.test(plain) || /[\u2215\u2044\u29F8]/.test(path))
    throw refused();
  if (plain.split('/').length !== path.split('/').length) throw refused();
  const segments = plain.split('/');
  if (segments.length > MAX_DEPTH || !segments.every(isOrdinary)) throw refused();
  return path;
}

function isOrdinary(segment: string): boolean {
  if (segment === '' || Buffer.byteLength(segment) > MAX_SEGMENT_BYTES) return false;
  // A leading dot makes a name hidden, `.` or `..`; some shells expand a leading `~`.
  if (/^[.~\s]|[.\s]$/u.test(segment)) return false;
  return !device.test(segment);
}

const refused = () => invalid('the path must be relative and consist of ordinary names');

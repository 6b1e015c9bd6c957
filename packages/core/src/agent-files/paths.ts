/** Which paths agents' files may have (decisions 7.5). Pure. */
import { invalid } from '@acp/kernel';

const MAX_PATH_BYTES = 500;
const MAX_SEGMENT_BYTES = 200;
const MAX_DEPTH = 10;

/** Names of Windows devices, whatever follows the dot: files travel to workers and into archives. */
const device = /^(?:con|prn|aux|nul|com\d|lpt\d)(?:\..*)?$/i;

/**
 * A relative path of ordinary names, as it was given. Everything is refused that some file system, program or decoder
 * down the way might take for another place: separators and dots in any spelling, hidden names, drives, devices.
 * @throws invalid
 */
export function checkFilePath(path: string): string {
  if (path === '' || Buffer.byteLength(path) > MAX_PATH_BYTES || !path.isWellFormed()) throw refused();
  // Compatibility forms turn into the plain ones: `．．`, `․․`, `／`, `＼`.
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
  // A name that begins with a dot is hidden, or `.` or `..`; one that begins with `~` some shells expand.
  if (/^[.~\s]|[.\s]$/u.test(segment)) return false;
  return !device.test(segment);
}

const refused = () => invalid('the path must be a relative one of ordinary names');

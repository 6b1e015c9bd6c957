const unitSizes: Record<string, number> = {
  '': 1,
  b: 1,
  kb: 1e3,
  mb: 1e6,
  gb: 1e9,
  tb: 1e12,
  kib: 2 ** 10,
  mib: 2 ** 20,
  gib: 2 ** 30,
  tib: 2 ** 40,
};

/**
 * Parses a number of bytes: `1048576`, `25MB` (decimal), `25MiB` (binary), `1.5 gib`; null for anything else. Fractions of a
 * byte are dropped (decisions 7.21).
 */
export function parseBytes(text: string): number | null {
  const match = /^(\d{1,15}(?:\.\d{1,6})?)\s*([a-z]{0,3})$/i.exec(text.trim());
  const size = unitSizes[match?.[2]?.toLowerCase() ?? 'none'];
  if (!match || size === undefined) return null;
  const bytes = Math.floor(Number(match[1]) * size);
  return Number.isSafeInteger(bytes) ? bytes : null;
}

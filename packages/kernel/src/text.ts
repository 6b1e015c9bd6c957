/** The text, or its longest beginning that takes at most `bytes` of UTF-8; no character is cut in two. */
export function cutText(text: string, bytes: number): string {
  // A UTF-16 unit takes three bytes at most, so short texts need no look.
  if (text.length * 3 <= bytes) return text;
  const encoded = Buffer.from(text.slice(0, bytes), 'utf8');
  if (encoded.length <= bytes) return text.length <= bytes ? text : encoded.toString('utf8');
  let end = bytes;
  // Continuation bytes are 10xxxxxx: back to the first byte of the character that lies across the limit.
  while (end > 0 && (encoded[end]! & 0xc0) === 0x80) end -= 1;
  return encoded.toString('utf8', 0, end);
}

/** UTF-8 unless a byte order mark says otherwise. Throws if it is not text. A character cut off at the end is dropped. */
export async function* decodeText(source: AsyncIterable<Buffer>): AsyncGenerator<string> {
  let decoder: InstanceType<typeof TextDecoder> | undefined;
  let begun: Buffer = Buffer.alloc(0);
  for await (const chunk of source) {
    begun = begun.length === 0 ? chunk : Buffer.concat([begun, chunk]);
    if (decoder === undefined && begun.length < 2) continue;
    decoder ??= new TextDecoder(encodingOf(begun));
    yield readable(decoder.decode(begun, { stream: true }));
    begun = Buffer.alloc(0);
  }
  if (begun.length > 0) yield readable(new TextDecoder().decode(begun));
}

function encodingOf([first, second]: Buffer): string {
  if (first === 0xff && second === 0xfe) return 'utf-16le';
  return first === 0xfe && second === 0xff ? 'utf-16be' : 'utf-8';
}

/** Rejects binary data named like a text. */
function readable(text: string): string {
  if (text.includes('\0')) throw new Error('not a text file');
  return text;
}

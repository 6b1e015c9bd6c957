import { getDocumentProxy } from 'unpdf';
import type { TextSink } from './text-sink.ts';

/** Page by page, and each page as it is being read. */
export async function extractPdf(bytes: Buffer, sink: TextSink): Promise<void> {
  // A view: copying would exceed the memory limit with large files.
  const data = new Uint8Array(bytes.buffer, bytes.byteOffset, bytes.length);
  const document = await getDocumentProxy(data, { verbosity: 0 });
  for (let number = 1; number <= document.numPages; number += 1) {
    const page = await document.getPage(number);
    const reader = page.streamTextContent().getReader() as ReadableStreamDefaultReader<TextContent>;
    for (let read = await reader.read(); !read.done; read = await reader.read())
      for (const { str = '', hasEOL } of read.value.items) sink.write(hasEOL === true ? `${str}\n` : str);
    sink.separate('\n\n');
    // The next page may be the one that exceeds a limit.
    sink.flush();
    page.cleanup();
  }
}

/** A piece of a page's text; items without `str` are marked content. */
interface TextContent {
  items: { str?: string; hasEOL?: boolean }[];
}

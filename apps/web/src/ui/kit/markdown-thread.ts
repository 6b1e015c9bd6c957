/** The thread of text-thread.ts: receives a text, returns its HTML, one at a time. */
import { parentPort } from 'node:worker_threads';
import { renderMarkdown } from './render-markdown.ts';

parentPort!.on('message', (text: string) => parentPort!.postMessage(renderMarkdown(text), []));

/** The thread of text-thread.ts: says null once it has started, then receives a text and returns its HTML, one at a time. */
import { parentPort } from 'node:worker_threads';
import { renderMarkdown } from './render-markdown.ts';

parentPort!.on('message', (text: string) => parentPort!.postMessage(renderMarkdown(text), []));
parentPort!.postMessage(null, []);

/** The thread of markdown-renderer.ts: a text comes in, its HTML goes out, one at a time. */
import { parentPort } from 'node:worker_threads';
import { renderMarkdown } from './render-markdown.ts';

parentPort!.on('message', (text: string) => parentPort!.postMessage(renderMarkdown(text), []));

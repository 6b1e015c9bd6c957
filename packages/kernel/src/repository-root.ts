import { resolve } from 'node:path';

/**
 * The checkout, or the image's folder. Whatever is read or started by its path is found from here: a bundled module
 * (@acp/program) is not where its source is. Bundles are as deep in the checkout as this file.
 */
export const repositoryRoot = resolve(import.meta.dirname, '../../..');

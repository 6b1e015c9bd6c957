/** JSON lines between host and plugin: splitting, parsing and writing, with the size limit enforced in both directions. */
export { ProtocolError } from './protocol-error.ts';
export { LineCutter } from './line-cutter.ts';
export { acceptedArgs } from './accepted.ts';
export { encodeMessage, readPluginMessage } from './messages.ts';
export { checkManifest } from './manifest.ts';

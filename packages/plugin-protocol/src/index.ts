/** JSON lines between host and plugin: cut, read and written, with their limit held in both directions. */
export { ProtocolError } from './protocol-error.ts';
export { LineCutter } from './line-cutter.ts';
export { encodeMessage, readHostMessage, readPluginMessage } from './messages.ts';
export { checkManifest } from './manifest.ts';

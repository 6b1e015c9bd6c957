/** The other side violates the protocol, or this side is about to; the message is for the author of the plugin. */
export class ProtocolError extends Error {
  constructor(message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = 'ProtocolError';
  }
}

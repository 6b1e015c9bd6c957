/** The other side does not keep to the protocol, or this one is about to break it; the message is for its author. */
export class ProtocolError extends Error {
  constructor(message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = 'ProtocolError';
  }
}

/** Delivery can never succeed: the address does not exist, or the channel is not set up. */
export class Undeliverable extends Error {}

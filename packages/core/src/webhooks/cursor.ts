/** The durable cursor shared by all webhooks: events are read once, however many listen. */
export const CURSOR = { consumer: 'webhooks', name: '' } as const;

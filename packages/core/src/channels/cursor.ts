/** The durable cursor shared by all channels: events are read once, however many people are notified. */
export const CURSOR = { consumer: 'channels', name: '' } as const;

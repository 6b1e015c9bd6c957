/** The durable cursor of all channels: events are read once, however many people want to be told. */
export const CURSOR = { consumer: 'channels', name: '' } as const;

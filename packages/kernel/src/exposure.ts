import type { Config } from './config.ts';

const LOOPBACK = ['127.0.0.1', 'localhost', '::1'];

/** Whether other machines can reach the service without a proxy on this one. */
export const isExposed = ({ host }: Pick<Config, 'host'>): boolean => !LOOPBACK.includes(host);

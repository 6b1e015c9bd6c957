/** Paths that probes and collectors ask for. */
export const HEALTH_PATHS: readonly string[] = [
  '/healthz',
  '/healthz/live',
  '/healthz/ready',
  '/readyz',
  '/metrics',
  '/api/health',
];

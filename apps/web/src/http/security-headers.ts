import helmet from 'helmet';
import type { RequestHandler } from 'express';

/** Everything comes from our own files: no inline script or style, no foreign host, no frame around us. */
export function securityHeaders(publicUrl: string): RequestHandler {
  const https = publicUrl.startsWith('https:');
  return helmet({
    contentSecurityPolicy: {
      useDefaults: false,
      directives: {
        defaultSrc: ["'self'"],
        imgSrc: ["'self'", 'data:'],
        objectSrc: ["'none'"],
        baseUri: ["'none'"],
        formAction: ["'self'"],
        frameAncestors: ["'none'"],
      },
    },
    // Only where browsers reach us by https: elsewhere it would lock people out of a plain installation.
    strictTransportSecurity: https,
    xFrameOptions: { action: 'deny' },
    // Referrers would carry paths with ids to foreign sites; none goes out at all.
    referrerPolicy: { policy: 'same-origin' },
  }) as RequestHandler;
}

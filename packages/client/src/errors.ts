/** An error reported by the service, with its message. */
export class ControlPlaneError extends Error {
  /** HTTP status; 0 if nothing was sent. */
  readonly status: number;
  /** Identifies the request in the service's logs. */
  readonly request_id: string | null;

  constructor(status: number, message: string, request_id: string | null) {
    super(message);
    this.name = 'ControlPlaneError';
    this.status = status;
    this.request_id = request_id;
  }
}

export async function errorOf(response: Response): Promise<ControlPlaneError> {
  const text = await response.text().catch(() => '');
  return new ControlPlaneError(
    response.status,
    messageOf(text) ?? `HTTP ${response.status}`,
    response.headers.get('x-request-id'),
  );
}

function messageOf(text: string): string | undefined {
  try {
    const { error } = JSON.parse(text) as { error?: unknown };
    return typeof error === 'string' ? error : undefined;
  } catch {
    return undefined;
  }
}

/** An error reported by the service, with its message. */
export class ControlPlaneError extends Error {
  /** HTTP status; 0 if nothing was sent. */
  readonly status: number;
  /** Identifies the request in the service's logs. */
  readonly request_id: string | null;
  /** Further fields of the answer; most have none. */
  readonly details: Readonly<Record<string, unknown>>;

  constructor(
    status: number,
    message: string,
    request_id: string | null,
    details: Readonly<Record<string, unknown>> = {},
  ) {
    super(message);
    this.name = 'ControlPlaneError';
    this.status = status;
    this.request_id = request_id;
    this.details = details;
  }
}

export async function errorOf(response: Response): Promise<ControlPlaneError> {
  const { status, headers, type } = response;
  const id = headers.get('x-request-id');
  if (type === 'opaqueredirect' || (status >= 300 && status < 400)) {
    const to = headers.get('location') ?? 'elsewhere';
    return new ControlPlaneError(
      status,
      `base_url leads to ${to}, and a key is sent to its own service only`,
      id,
    );
  }
  const { error, ...details } = fieldsOf(await response.text().catch(() => ''));
  const message = typeof error === 'string' ? error : `HTTP ${status}`;
  return new ControlPlaneError(status, message, id, details);
}

function fieldsOf(text: string): Record<string, unknown> {
  try {
    return Object(JSON.parse(text)) as Record<string, unknown>;
  } catch {
    return {};
  }
}

/** A refusal, in the words of the service. */
export class ControlPlaneError extends Error {
  /** Of HTTP; 0 where nothing was sent. */
  readonly status: number;
  /** Names the request in the logs of the service. */
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

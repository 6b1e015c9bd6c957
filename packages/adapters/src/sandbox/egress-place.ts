/** A destination. */
export interface EgressPlace {
  /** Lower case, IPv6 without brackets; a leading dot matches everything below. */
  host: string;
  port: number;
}

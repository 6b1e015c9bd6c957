/** Where something wants to go. */
export interface EgressPlace {
  /** Lower case, IPv6 without brackets; with a leading dot everything below. */
  host: string;
  port: number;
}

/** The part of a pino logger that the proxy writes to. */
export interface EgressLog {
  debug(fields: object, message: string): void;
}

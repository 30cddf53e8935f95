/** What a key may do: make captures; read captures and usage; manage the account's keys. */
export const scopes = ['capture', 'read', 'manage'] as const;
export type Scope = (typeof scopes)[number];

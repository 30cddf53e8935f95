/** Why a notice did not arrive, in words that are fit for the account holder. */
export class NoticeFailure extends Error {
  constructor(reason: string, options?: { cause: unknown }) {
    super(reason, options);
    this.name = 'NoticeFailure';
  }
}

/** Exit code for an invalid configuration (EX_CONFIG in sysexits.h): a restart does not help. */
export const configExitCode = 78;

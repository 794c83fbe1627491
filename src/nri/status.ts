import { CpusetdError } from '../core/errors';
import type { RuntimeAnswer } from '../core/model/events';
import { StatusCode, TtrpcError, type TtrpcHandler } from '../wire';

/** A refusal as the status that the runtime passes on: its code and text reach the kubelet. */
export function refusal({ code, message }: Extract<RuntimeAnswer, { kind: 'refuse' }>): TtrpcError {
  return new TtrpcError(StatusCode[code], message);
}

/** Lets our own errors out with code and text; of all others the wire tells the runtime nothing but INTERNAL. */
export function guard(handler: TtrpcHandler): TtrpcHandler {
  const rethrow = (error: unknown): never => {
    throw error instanceof CpusetdError
      ? new TtrpcError(StatusCode[error.code], error.message, { cause: error })
      : error;
  };
  return (request) => {
    try {
      const result = handler(request);
      return result instanceof Promise ? result.catch(rethrow) : result;
    } catch (error) {
      return rethrow(error);
    }
  };
}

/** Why registration failed, for the operator, with the rule and what to do. */
export function explainRegistrationError(
  error: unknown,
  { pluginName, pluginIndex }: { readonly pluginName: string; readonly pluginIndex: string },
): string {
  const text = error instanceof Error ? error.message : String(error);
  if (error instanceof TtrpcError && error.code === StatusCode.DEADLINE_EXCEEDED) {
    return `the runtime did not answer our registration: ${text}; another plugin may block it`;
  }
  return (
    `the runtime refused the plugin "${pluginName}" with index "${pluginIndex}": ${text}; ` +
    'an index has two digits (--nri-plugin-index), a name consists of letters, digits and _.+- (--nri-plugin-name)'
  );
}

import * as grpc from '@grpc/grpc-js';

import {
  ServerReflectionDefinition,
  ServerReflectionResponse,
  type ServerReflectionRequest,
} from '../../../gen/grpc/reflection/v1/reflection';
import type { DescriptorRegistry } from './descriptor-registry';
import { toGrpcService } from '../../net/grpc-service';
import { toServiceError, type AdminLog } from '../grpc/unary-handler';

type ReflectionCall = grpc.ServerDuplexStream<ServerReflectionRequest, ServerReflectionResponse>;

/** Adds grpc.reflection under its present and its older name. Descriptors are read once, at the first request. */
export function addReflectionService(server: grpc.Server, { log }: { readonly log: AdminLog }): void {
  let registry: Promise<DescriptorRegistry> | undefined;
  const readOnce = (): Promise<DescriptorRegistry> =>
    (registry ??= import('./descriptor-registry').then(({ readDescriptorRegistry }) => readDescriptorRegistry()));
  const serverReflectionInfo = (call: ReflectionCall): void => {
    readOnce()
      .then((read) => answerAll(call, read))
      .catch((error: unknown) => call.emit('error', toServiceError(error, log)));
  };
  for (const name of ['grpc.reflection.v1.ServerReflection', 'grpc.reflection.v1alpha.ServerReflection']) {
    server.addService(toGrpcService(ServerReflectionDefinition, name), { serverReflectionInfo });
  }
}

/** Uses events: `for await` would destroy the stream with its last request, before its status is sent. */
function answerAll(call: ReflectionCall, registry: DescriptorRegistry): void {
  call.on('data', (request: ServerReflectionRequest) => {
    const { host: validHost } = request;
    call.write(
      ServerReflectionResponse.create({ validHost, originalRequest: request, ...answer(registry, request) }),
      () => call.resume(),
    );
    call.pause(); // one answer at a time: a client that does not read is not read either
  });
  call.on('end', () => call.end());
}

function answer(registry: DescriptorRegistry, request: ServerReflectionRequest): Partial<ServerReflectionResponse> {
  const { fileByFilename, fileContainingSymbol, fileContainingExtension, allExtensionNumbersOfType } = request;
  if (request.listServices !== undefined) {
    return { listServicesResponse: { service: registry.services.map((name) => ({ name })) } };
  }
  if (fileByFilename !== undefined) return files(registry.filesOfFile(fileByFilename), 'file');
  if (fileContainingSymbol !== undefined) return files(registry.filesOfSymbol(fileContainingSymbol), 'symbol');
  if (fileContainingExtension !== undefined) return files(undefined, 'extension'); // proto3: we have none
  if (allExtensionNumbersOfType === undefined) return failure(grpc.status.INVALID_ARGUMENT, 'the request asks nothing');
  return registry.hasMessage(allExtensionNumbersOfType)
    ? { allExtensionNumbersResponse: { baseTypeName: allExtensionNumbersOfType, extensionNumber: [] } }
    : failure(grpc.status.NOT_FOUND, 'unknown type');
}

function files(found: Uint8Array[] | undefined, what: string): Partial<ServerReflectionResponse> {
  return found
    ? { fileDescriptorResponse: { fileDescriptorProto: found } }
    : failure(grpc.status.NOT_FOUND, `unknown ${what}`);
}

function failure(errorCode: grpc.status, errorMessage: string): Partial<ServerReflectionResponse> {
  return { errorResponse: { errorCode, errorMessage } };
}

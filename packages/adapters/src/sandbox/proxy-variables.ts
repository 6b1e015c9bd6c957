/** Variables that point programs to a proxy on their loopback; some programs read only one spelling. */
export function proxyVariables(port: number): Record<string, string> {
  const address = `http://127.0.0.1:${port}`;
  return {
    HTTP_PROXY: address,
    HTTPS_PROXY: address,
    http_proxy: address,
    https_proxy: address,
    NODE_USE_ENV_PROXY: '1',
  };
}

// Questions to the cluster. Addresses are relative, so that proxies may put the page anywhere.

export async function ask(view, query = {}) {
  const words = new URLSearchParams(query).toString();
  return answered(await fetch(`data/${view}${words ? `?${words}` : ""}`, { signal: AbortSignal.timeout(15000) }));
}

export async function act(action, body) {
  const headers = { "Content-Type": "application/json" };
  return answered(await fetch(`action/${action}`, { method: "POST", headers, body: JSON.stringify(body) }));
}

async function answered(response) {
  if (response.ok) return response.json();
  const error = new Error((await response.text()).trim());
  error.status = response.status;
  throw error;
}

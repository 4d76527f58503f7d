"""Runs `async def` tests, each on an event loop of its own, so that no plug-in is needed."""

import asyncio
import inspect
import signal

import pytest

pytest.register_assert_rewrite("txmemory.testing")
# A shell starts what runs in the background deaf to SIGINT; the tests send it to themselves.
signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> bool | None:
    test = pyfuncitem.obj
    if not inspect.iscoroutinefunction(test):
        return None
    wanted = inspect.signature(test).parameters
    arguments = {name: value for name, value in pyfuncitem.funcargs.items() if name in wanted}
    with asyncio.Runner() as runner:
        runner.run(test(**arguments))
    return True

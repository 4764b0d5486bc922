"""Addresses of stores, taken apart; no password is said again."""

from types import SimpleNamespace
from urllib.parse import parse_qsl, quote

import pytest

from polyclinic.errors import UserError
from polyclinic.results.provenance import command_words, without_secrets
from polyclinic.storage import server
from polyclinic.storage.server import is_store, read_address, shown, without_passwords

SECRET = "p%2Fw"


def test_addresses_and_what_is_shown_of_them():
    for text, conninfo, schema, told in [
        ("postgresql://h/d", "postgresql://h/d", "polyclinic", "postgresql://h/d"),
        ("postgres://u:p%2Fw@h:5/d?schema=a_1", "postgres://u:p%2Fw@h:5/d", "a_1", "postgresql://h:5/d?schema=a_1"),
        ("postgresql://u@h,h2/d?sslmode=require", "postgresql://u@h,h2/d?sslmode=require", "polyclinic",
         "postgresql://h,h2/d"),
        ("postgresql:///d?host=/tmp/x&password=p%2Fw", "postgresql:///d?host=%2Ftmp%2Fx&password=p%2Fw", "polyclinic",
         "postgresql:///d"),
    ]:  # fmt: skip
        found = read_address(text)
        assert found[:3] == (conninfo, schema, told), text
        assert shown(text) == told
        if "p%2Fw" in text:
            assert found.without_secrets("said p/w and p%2Fw") == "said *** and ***"
    assert is_store("postgresql://h/d") and not is_store("folder/postgresql") and not is_store(None)


def test_what_is_none_is_refused_and_not_said_again(monkeypatch):
    for text in (
        "postgresql://u:p%2Fw@h/d?schema=Ä",
        "mysql://u:p%2Fw@h/d",
        "postgresql://u:p%2Fw#x@h/d",
        "postgresql://u:p%2Fw/x@h/d",
        "postgresql://u:p%2Fw?x@h/d",
        "postgresql://u:12?p%2Fw@h/d",
        "postgresql://h:p%2Fw/d",
    ):
        with pytest.raises(UserError) as told:
            read_address(text)
        assert SECRET not in str(told.value), text
        assert SECRET not in shown(text)

    monkeypatch.setenv("PGPASSWORD", "quite secret")
    assert read_address("postgresql://h/d").without_secrets("quite secret") == "***"


def test_no_password_gets_into_results_or_errors():
    url = f"postgresql://u:{SECRET},x@h/d?schema=s"
    clean = "postgresql://h/d?schema=s"
    assert command_words(["eval", "--store", url, f"--store={url}"]) == ["eval", "--store", clean, f"--store={clean}"]
    assert without_secrets({"store": url}) == {"store": clean}
    assert without_passwords(f'Unknown option: "{url}"') == 'Unknown option: "postgresql://u:***@h/d?schema=s"'


def test_the_password_of_an_address_is_found_wherever_it_stands():
    assert read_address("postgresql://ann:a%40b@h/d").secrets == {"PGPASSWORD": "a@b"}
    assert read_address("postgresql://ann@h/d?password=a%40b&sslmode=require").secrets == {"PGPASSWORD": "a@b"}
    assert read_address("postgresql://ann@h/d").secrets == {}


def test_a_message_has_no_password_in_whatever_form_it_came():
    for text in (
        "postgresql:/ann:WRONG@h/d: no such folder",
        "no folder host=h password=WRONG dbname=d",
        "password = 'WR ONG'",
    ):
        assert "WRONG" not in without_passwords(text) and "ONG'" not in without_passwords(text)


def test_the_password_of_a_key_is_taken_where_the_address_has_none(monkeypatch):
    told = []
    library = SimpleNamespace(
        conninfo=SimpleNamespace(conninfo_to_dict=lambda text: dict(parse_qsl(text.partition("?")[2]))),
        ProgrammingError=ValueError,
        connect=lambda **given: told.append(given.get("sslpassword")),
    )
    monkeypatch.setattr(server, "library", lambda: library)
    for variable in ("", "of the variable"):
        monkeypatch.setenv("POLYCLINIC_SSLPASSWORD", variable)
        for text in ("postgresql://h/d", "postgresql://h/d?sslpassword=of%20the%20address"):
            server.StoreServer(read_address(text))._connect()
    assert told == [None, "of the address", "of the variable", "of the address"]
    assert read_address("postgresql://h/d").without_secrets("it is of the variable") == "it is ***"


@pytest.mark.parametrize("secret", ["k3y s/@x", "a+b", "100 % sure", "=&?#"])
def test_libpq_reads_what_was_given_whatever_signs_it_has(secret):
    psycopg = pytest.importorskip("psycopg", reason="psycopg is not installed: pip install 'polyclinic[postgres]'")
    given = quote(secret, safe="")
    address = read_address(f"postgresql://ann@h/d?sslpassword={given}&sslkey=/a%20b/key&schema=ours")
    told = psycopg.conninfo.conninfo_to_dict(address.conninfo)
    assert (told["sslpassword"], told["sslkey"]) == (secret, "/a b/key")
    assert address.secrets == {"POLYCLINIC_SSLPASSWORD": secret}
    again = read_address(address.kept)
    assert psycopg.conninfo.conninfo_to_dict(again.conninfo)["sslkey"] == "/a b/key" and again.schema == "ours"
    assert address.without_secrets(f"no key for {secret}!") == "no key for ***!"
